"""Operations for which Ascend has fused operators; each does what its namesake in `mf_models.kernels` documents."""
