"""Random keys by case name, and the independent streams of random numbers drawn from them."""
