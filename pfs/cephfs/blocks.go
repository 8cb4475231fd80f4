//go:build ceph

package cephfs

import (
	"errors"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// blockSize is the largest number of bytes that one call asks the cluster to read or write. With several calls on
// their way, the cluster, the network and this machine work at the same time.
const blockSize = 1 << 20

// flightsEach is the number of blocks of one file that one caller has on their way at once.
const flightsEach = 4

// blocks cuts n bytes from off on at the ends of blocks and calls do for each part, several at once. It returns
// how many bytes were done before the first part that was not done whole.
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

// blockEnds returns where blocks of the file end within n bytes from off on, the last end being n.
func blockEnds(n int, off int64) (ends []int) {
	for end := 0; end < n; {
		end = min(n, end+int(blockSize-(off+int64(end))%blockSize))
		ends = append(ends, end)
	}
	return ends
}

// inParallel calls do with each number below n, some at a time. It panics if one of them does: the caller's goroutine is
// guarded, those made here are not.
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
