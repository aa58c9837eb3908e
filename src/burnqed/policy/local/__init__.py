"""A Hugging Face model in this process, sampled from for many searches at once."""
