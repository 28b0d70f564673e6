"""Episodes: messages and observations, recorded in journals."""
