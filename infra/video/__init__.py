"""`animegan video`: a clip in, a painted clip out, through ffmpeg, or through OpenCV where that is missing."""
