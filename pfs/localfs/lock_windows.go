package localfs

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockAt is where the lock is: beyond any byte of the file, because locks of this
// system keep others from reading and writing what they cover.
var lockAt = windows.Overlapped{OffsetHigh: 1 << 30}

// lockFile takes the lock of f, shared or exclusive, in place of the one it has; it
// waits for it.
func lockFile(f *os.File, exclusive bool) error {
	var how uint32
	if exclusive {
		how = windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	at := lockAt
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &at)
}

// unlockFile gives the lock back.
func unlockFile(f *os.File) error {
	at := lockAt
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)
}
