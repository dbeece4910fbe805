
quiet
