package localfs

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockAt is the offset of the lock. It is beyond any byte of the file, because locks on Windows
// keep others from reading and writing the bytes that they cover.
var lockAt = windows.Overlapped{OffsetHigh: 1 << 30}

// lockFile waits for the lock of f, shared or exclusive, which replaces the one it has.
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
