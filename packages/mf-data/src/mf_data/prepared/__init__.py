"""Files of ids that were prepared before: MindRecord and TFRecord, read and written without their libraries."""
