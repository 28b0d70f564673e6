"""Recording where work happens: what agent programs give their hooks becomes episodes."""
