"""Parts that networks of all file formats share: reports, pictures, and checks of given arguments."""
