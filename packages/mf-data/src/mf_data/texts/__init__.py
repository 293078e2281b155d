"""What corpora are made of: records, documents, conversations, labelled texts, questions with choices."""
