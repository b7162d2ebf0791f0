"""By the Book beside LlamaIndex, Haystack, LangChain and txtai: same weights, each as its own documentation sets it up."""
