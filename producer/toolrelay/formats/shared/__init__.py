"""What the formats' modules share where they read and write calls, tools, choices and results."""
