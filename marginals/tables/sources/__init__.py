"""Where tables come from: frames in memory, files, and engines that count before anything leaves them."""
