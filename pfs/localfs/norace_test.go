//go:build !race

package localfs

// raceDetector reports whether the race detector runs.
const raceDetector = false
