help:
	@echo muster
