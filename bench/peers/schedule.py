"""The rate of the small forms' trainings, as halfulp's lr.schedule=cosine has it."""
import math


def rate(lr, step, steps, warm_up):
    """Warm-up in a line over so many steps, then a cosine to 0."""
    if step < warm_up:
        return lr * (step + 1) / warm_up
    return lr * (1 + math.cos(math.pi * (step - warm_up) / (steps - warm_up))) / 2
