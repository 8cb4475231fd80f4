package webhdfs

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/internal/unixmode"
	"github.com/paddlecloud/pfs/pfs"
)

// answer sends a.
func (c *call) answer(a answer) {
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(pace.Stall))
	var body []byte
	h := c.w.Header()
	if a.body != nil {
		body = encode(a.body)
		h.Set("Content-Type", "application/json")
	} else {
		h.Set("Content-Type", "application/octet-stream")
	}
	if a.location != "" {
		h.Set("Location", a.location)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	status := a.status
	if status == 0 {
		status = http.StatusOK
	}
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body) // the client has left
}

// encode returns v as JSON on one line. It holds only values that can be encoded.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// yesNo is the answer of operations that succeed or not.
func yesNo(ok bool) answer {
	return answer{body: struct {
		Boolean bool `json:"boolean"`
	}{ok}}
}

// named is the object {name: v}.
func named(name string, v any) map[string]any { return map[string]any{name: v} }

const (
	// blockSize is stated for files of stores that have no blocks, or only those of a disk, by which Hadoop's
	// programs would divide their work.
	blockSize  = 128 << 20
	leastBlock = 1 << 20
	// bytesPerSum is how many bytes one CRC covers.
	bytesPerSum = 512
)

// fileStatus is FileStatus of WebHDFS.
type fileStatus struct {
	AccessTime       int64  `json:"accessTime"`
	BlockSize        int64  `json:"blockSize"`
	ChildrenNum      int    `json:"childrenNum"`
	FileID           uint64 `json:"fileId"`
	Group            string `json:"group"`
	Length           int64  `json:"length"`
	ModificationTime int64  `json:"modificationTime"`
	Owner            string `json:"owner"`
	PathSuffix       string `json:"pathSuffix"`
	Permission       string `json:"permission"`
	Replication      int    `json:"replication"`
	StoragePolicy    int    `json:"storagePolicy"`
	Symlink          string `json:"symlink,omitempty"`
	Type             string `json:"type"`
}

// newFileStatus describes info. suffix is the name in the listed directory, empty for the path itself.
func newFileStatus(info pfs.Info, suffix string) fileStatus {
	f := fileStatus{
		AccessTime: millis(info.AccessTime), ModificationTime: millis(info.ModTime),
		FileID: info.ID, Owner: nameOf(info.Owner, info.UID), Group: nameOf(info.Group, info.GID),
		PathSuffix: suffix, Permission: permission(info.Mode), Type: "FILE",
	}
	switch {
	case info.IsDir():
		f.Type = "DIRECTORY"
	case info.IsLink():
		f.Type, f.Symlink = "SYMLINK", info.Target
	default:
		f.Length, f.BlockSize, f.Replication = info.Size, blockSizeOf(info), max(1, info.Replication)
	}
	return f
}

func blockSizeOf(info pfs.Info) int64 {
	if info.BlockSize >= leastBlock {
		return info.BlockSize
	}
	return blockSize
}

func permission(mode fs.FileMode) string {
	return strconv.FormatUint(uint64(unixmode.Permissions(mode)&0o1777), 8)
}

// millis returns t as Java does; 0 stands for no time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// nameOf returns the name of a user or group, or its number.
func nameOf(name string, number uint32) string {
	if name != "" {
		return name
	}
	return strconv.FormatUint(uint64(number), 10)
}
