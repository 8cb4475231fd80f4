//go:build ceph

package cephfs

import (
	"errors"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// blockSize is the largest number of bytes that one call reads or writes. With several concurrent
// calls, the cluster, the network and this machine work at the same time.
const blockSize = 1 << 20

// flightsEach is the number of concurrent blocks of one file for one caller.
const flightsEach = 4

// blocks cuts the n bytes from off at the ends of blocks and calls do for each part, several at
// once. It returns the number of bytes before the first part that was not done completely.
func blocks(n int, off int64, do func(from, to int, off int64) (int, error)) (int, error) {
	ends := blockEnds(n, off)
	done, errs := make([]int, len(ends)), make([]error, len(ends))
	inParallel(flightsEach, len(ends), func(k int) {
		from := 0
		if k > 0 {
			from = ends[k-1]
		}
		done[k], errs[k] = do(from, ends[k], off+int64(from))
	})
	sum := 0
	for k, end := range ends {
		sum += done[k]
		if errs[k] != nil || sum < end {
			return sum, errs[k]
		}
	}
	return sum, nil
}

// blockEnds returns the ends of blocks within the n bytes from off; the last end is n.
func blockEnds(n int, off int64) (ends []int) {
	for end := 0; end < n; {
		end = min(n, end+int(blockSize-(off+int64(end))%blockSize))
		ends = append(ends, end)
	}
	return ends
}

// inParallel calls do with each number below n, some at a time. It panics if one of them does: only
// the caller's goroutine recovers from panics, not those made here.
func inParallel(jobs, n int, do func(k int)) {
	if n == 1 {
		do(0)
		return
	}
	jobs = min(jobs, n)
	bugs := make([]error, jobs)
	var wg sync.WaitGroup
	for j := range jobs {
		wg.Go(func() {
			bugs[j] = pfs.Guard("cephfs.inParallel", "", func() error {
				for k := j; k < n; k += jobs {
					do(k)
				}
				return nil
			})
		})
	}
	wg.Wait()
	if err := errors.Join(bugs...); err != nil {
		panic(err)
	}
}
