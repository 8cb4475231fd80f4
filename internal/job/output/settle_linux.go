package output

import (
	"os"
	"syscall"
)

// settle writes the changes of mapped memory to the file name of root. Afterwards any further change
// of mapped memory gives the file another time, so the next pass finds it. It needs no durability.
func settle(root *os.Root, name string) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return // the copy reports it
	}
	defer f.Close()
	const waitBefore, write, waitAfter = 1, 2, 4
	_ = syscall.SyncFileRange(int(f.Fd()), 0, 0, waitBefore|write|waitAfter)
}
