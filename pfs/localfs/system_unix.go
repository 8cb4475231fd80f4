//go:build unix

package localfs

import "syscall"

// nonBlocking keeps an open of a fifo from waiting for its other end.
const nonBlocking = syscall.O_NONBLOCK | syscall.O_NOCTTY
