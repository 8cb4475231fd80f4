package localfs

import "github.com/paddlecloud/pfs/pfs"

// sums is the content of a tree as a quota counts it, or a change of it.
type sums struct {
	bytes       int64 // of files and uploads
	files, dirs int64 // published
	staged      limits
}

// plus returns a + sign*b.
func (a sums) plus(b sums, sign int64) sums {
	a.bytes += sign * b.bytes
	a.files += sign * b.files
	a.dirs += sign * b.dirs
	a.staged = a.staged.plus(b.staged, sign)
	return a
}

// negated returns -a.
func (a sums) negated() sums { return sums{}.plus(a, -1) }

// each returns the sums that do makes of each pair of fields.
func (a sums) each(b sums, do func(a, b int64) int64) sums {
	return sums{
		bytes: do(a.bytes, b.bytes), files: do(a.files, b.files), dirs: do(a.dirs, b.dirs),
		staged: limits{do(a.staged.bytes, b.staged.bytes), do(a.staged.files, b.staged.files)},
	}
}

// magnitude returns the absolute values.
func (a sums) magnitude() sums {
	return a.each(sums{}, func(n, _ int64) int64 { return max(n, -n) })
}

// atLeast returns the larger value of each field.
func (a sums) atLeast(b sums) sums {
	return a.each(b, func(a, b int64) int64 { return max(a, b) })
}

// within reports whether each field of a and b differs by at most that of by.
func (a sums) within(b, by sums) bool {
	return a.plus(b, -1).magnitude().atLeast(by) == by
}

// usage returns the usage that users see: an upload is not a file yet.
func (a sums) usage() pfs.Usage {
	return pfs.Usage{Bytes: a.bytes, Files: a.files, Dirs: a.dirs}
}

// sumsOf returns what one published entry adds to its tree.
func sumsOf(st stat) sums {
	if st.mode.IsDir() {
		return sums{dirs: 1}
	}
	return sums{bytes: st.size, files: 1}
}

// stagedSums returns what one upload adds to its tree.
func stagedSums(st stat) sums {
	return sums{bytes: st.size, staged: limits{bytes: st.size, files: 1}}
}
