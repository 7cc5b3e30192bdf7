"""The pages of a window, a module each: what they show, and the edits and commands that their forms stand for."""
