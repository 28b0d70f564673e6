"""Recording where work happens: inputs of the hooks of agent programs become episodes."""
