//go:build race

package localfs

// raceDetector reports whether the race detector runs. It makes a sync.Pool forget memory at random.
const raceDetector = true
