//go:build ceph

package cephfs

import "github.com/paddlecloud/pfs/pfs/digest"

// mark returns the stored digest of an open file that st describes, if it is valid.
func (h *handle) mark(c *call, st stat) (digest.Mark, bool) {
	p, err := h.xattr(c, digest.MarkAttribute)
	if err != nil {
		return digest.Mark{}, false
	}
	m, ok := digest.DecodeMark(p)
	return m, ok && m.Of(st.size, st.mtime)
}

// keptDigest returns the stored digest of the file in, which st describes; "" if there is none.
func keptDigest(c *call, in *cInode, st stat) string {
	// A handle without an open file is enough for a stored digest.
	m, ok := newHandle(c.m, in).mark(c, st)
	if !ok {
		return ""
	}
	return m.Digest
}
