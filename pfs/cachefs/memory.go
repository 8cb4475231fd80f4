package cachefs

import (
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// blockSize is the length of a block: that of a leaf, so that the checksums of the blocks give the
// digest of the file.
const blockSize = pfs.ChunkSize

// memoryBudget returns how many bytes buffers may take: 32 blocks, or a quarter of the limit of the
// control group if that is less.
func memoryBudget() int64 {
	return max(2*blockSize, min(32*blockSize, cgroupLimit(os.ReadFile)/4))
}

// MemoryLimit returns the limit of this process's control group; false if it has none.
func MemoryLimit() (int64, bool) {
	limit := cgroupLimit(os.ReadFile)
	return limit, limit < 1<<50 // the oldest kernels show a huge number
}

// cgroupLimit returns the smallest memory limit of this process's control groups.
func cgroupLimit(read func(name string) ([]byte, error)) int64 {
	const none = 1 << 62
	groups, err := read("/proc/self/cgroup")
	if err != nil {
		return none
	}
	limit := int64(none)
	for line := range strings.Lines(string(groups)) {
		// Each line is ID:CONTROLLERS:PATH; version 2 has no controllers.
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 || f[1] != "" && f[1] != "memory" {
			continue
		}
		root, file := "/sys/fs/cgroup", "memory.max"
		if f[1] == "memory" {
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for dir := path.Clean("/" + f[2]); ; dir = path.Dir(dir) {
			b, err := read(path.Join(root, dir, file))
			if n, bad := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && bad == nil {
				limit = min(limit, n)
			}
			if dir == "/" {
				break
			}
		}
	}
	return limit
}
