package wire

import (
	"fmt"
	"io/fs"
	"time"

	"github.com/paddlecloud/pfs/internal/unixmode"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/vmihailenco/msgpack/v5"
)

// The headers of the protocol.
const (
	HeaderProtocol   = "Pfs-Protocol"
	HeaderDatacenter = "Pfs-Datacenter"
	HeaderRequest    = "Pfs-Request"
	HeaderInfo       = "Pfs-Info"

	// HeaderSender, of requests, is ID/N: the ID of a program whose processes replace each other, and the number of
	// the process. When the service has seen a change of a process, it refuses those of earlier ones, and it waits
	// for those that are in progress.
	HeaderSender = "Pfs-Sender"

	// Of answers to users: how many requests, and how many batches of each kind (read and
	// written), the user may have in progress.
	HeaderRequests = "Pfs-Requests"
	HeaderBatches  = "Pfs-Batches"

	// HeaderInstance, of answers to users, names the running service: another replica, and
	// the same one after a restart, has another name.
	HeaderInstance = "Pfs-Instance"

	TypeMessage = "application/msgpack"
	TypeFrames  = "application/x-pfs-frames"
	TypeChunk   = "application/octet-stream"
)

// The paths of the protocol.
const (
	PathService = "/v1/service"
	PathLogin   = "/v1/login"
	PathRefresh = "/v1/refresh"
	PathLogout  = "/v1/logout"
	PathCall    = "/v1/call/" // + method
	PathData    = "/v1/data"
	PathWrite   = "/v1/write"
	PathBatch   = "/v1/batch"
	PathRead    = "/v1/read"
	PathCopy    = "/v1/copy-batch"
)

// The methods of PathCall, with their request and reply messages.
const (
	CallStat            = "stat"             // PathRequest -> InfoReply
	CallList            = "list"             // ListRequest -> ListReply
	CallMkdir           = "mkdir"            // ModeRequest -> Empty
	CallRemove          = "remove"           // PathRequest -> Empty
	CallRemoveTree      = "remove-tree"      // PathRequest -> Empty
	CallRename          = "rename"           // TwoPathRequest -> Empty
	CallRenameExclusive = "rename-exclusive" // TwoPathRequest -> Empty
	CallSymlink         = "symlink"          // SymlinkRequest -> Empty
	CallSetAttr         = "set-attr"         // AttrRequest -> Empty
	CallXattr           = "xattr"            // XattrRequest -> XattrReply
	CallSetXattr        = "set-xattr"        // XattrRequest -> Empty
	CallListXattr       = "list-xattr"       // PathRequest -> XattrNames
	CallRemoveXattr     = "remove-xattr"     // XattrRequest -> Empty
	CallHardLink        = "hard-link"        // TwoPathRequest -> Empty
	CallMknod           = "mknod"            // MknodRequest -> Empty
	CallConcat          = "concat"           // ConcatRequest -> Empty
	CallCapabilities    = "capabilities"     // PathRequest -> CapabilitiesReply
	CallLocate          = "locate"           // LocateRequest -> LocateReply
	CallSpace           = "space"            // PathRequest -> SpaceReply
	CallUsage           = "usage"            // PathRequest -> UsageReply
	CallSetQuota        = "set-quota"        // QuotaRequest -> Empty
	CallAccess          = "access"           // AccessRequest -> Empty
	CallSweep           = "sweep"            // SweepRequest -> SweepReply
	CallCopy            = "copy"             // CopyRequest -> InfoReply
	CallDigest          = "digest"           // DigestRequest -> DigestReply

	CallCreate  = "create"  // CreateRequest -> CreateReply
	CallLeaves  = "leaves"  // LeavesRequest -> LeavesReply
	CallSync    = "sync"    // StagedRequest -> Empty
	CallCommit  = "commit"  // CommitRequest -> InfoReply
	CallDiscard = "discard" // StagedRequest -> Empty

	CallOpen           = "open"            // OpenRequest -> OpenReply
	CallHandleStat     = "handle-stat"     // HandleRequest -> InfoReply
	CallHandleTruncate = "handle-truncate" // HandleRequest -> Empty
	CallHandleAllocate = "handle-allocate" // HandleRequest -> Empty
	CallHandleSync     = "handle-sync"     // HandleRequest -> Empty
	CallHandleSetAttr  = "handle-set-attr" // HandleRequest -> Empty
	CallHandleClose    = "handle-close"    // HandleRequest -> Empty
	CallRenew          = "renew"           // RenewRequest -> RenewReply
)

// PathName returns the path that the request is about.
func (q PathRequest) PathName() string    { return q.Path }
func (q SymlinkRequest) PathName() string { return q.Path }
func (q ModeRequest) PathName() string    { return q.Path }
func (q ListRequest) PathName() string    { return q.Path }
func (q QuotaRequest) PathName() string   { return q.Path }
func (q AccessRequest) PathName() string  { return q.Path }
func (q SweepRequest) PathName() string   { return q.Path }
func (q DigestRequest) PathName() string  { return q.Path }

// Empty is a message without content.
type Empty struct{}

// Credentials ask for tokens.
type Credentials struct {
	User     string `msgpack:"user"`
	Password string `msgpack:"password"`
}

// RefreshRequest asks for a new access token, or (logout) ends the refresh token.
type RefreshRequest struct {
	Refresh string `msgpack:"refresh"`
}

// Tokens are the result of a login.
type Tokens struct {
	User           string `msgpack:"user"`
	Access         string `msgpack:"access"`
	Refresh        string `msgpack:"refresh"`
	Expires        Time   `msgpack:"expires"` // of Access
	RefreshExpires Time   `msgpack:"refresh_expires"`
}

// ServiceInfo describes the service to every client.
type ServiceInfo struct {
	Version     string   `msgpack:"version"`  // of the program
	Protocol    int      `msgpack:"protocol"` // Version
	Datacenters []string `msgpack:"datacenters"`
	Current     string   `msgpack:"current"` // the one of /pfs/public
}

// PathRequest names one path.
type PathRequest struct {
	Path string `msgpack:"path"`
}

// TwoPathRequest names a source and a target.
type TwoPathRequest struct {
	Old string `msgpack:"old"`
	New string `msgpack:"new"`
}

// SymlinkRequest makes a link.
type SymlinkRequest struct {
	Path   string `msgpack:"path"`
	Target string `msgpack:"target"`
}

// ModeRequest sets permission bits.
type ModeRequest struct {
	Path string `msgpack:"path"`
	Mode uint32 `msgpack:"mode"`
}

// ListRequest asks for a page; see pfs.ListOptions.
type ListRequest struct {
	Path  string `msgpack:"path"`
	Token string `msgpack:"token"`
	Limit int    `msgpack:"limit"`
	// Older services ignore these fields.
	Digests bool `msgpack:"digests,omitempty"`
	Attrs   bool `msgpack:"attrs,omitempty"`
}

// ListReply is a page; see pfs.Page.
type ListReply struct {
	Entries []Info   `msgpack:"entries"`
	Unnamed []string `msgpack:"unnamed"`
	Next    string   `msgpack:"next"`
}

// SpaceReply is a pfs.Space. An older service counts everything that is not free as used.
type SpaceReply struct {
	Total    int64 `msgpack:"total"`
	Free     int64 `msgpack:"free"`
	Reserved int64 `msgpack:"reserved,omitempty"`
}

// NewSpaceReply returns the reply for s.
func NewSpaceReply(s pfs.Space) SpaceReply {
	return SpaceReply{s.Total, s.Free, s.Total - s.Free - s.Used}
}

// Space returns the pfs.Space of the reply.
func (r SpaceReply) Space() pfs.Space {
	return pfs.Space{Total: r.Total, Used: r.Total - r.Free - r.Reserved, Free: r.Free}
}

// UsageReply is a pfs.Usage.
type UsageReply struct {
	Bytes    int64 `msgpack:"bytes"`
	Files    int64 `msgpack:"files"`
	Dirs     int64 `msgpack:"dirs"`
	MaxBytes int64 `msgpack:"max_bytes"`
	MaxFiles int64 `msgpack:"max_files"`

	Stored    int64 `msgpack:"stored,omitempty"`
	MaxStored int64 `msgpack:"max_stored,omitempty"`
}

// QuotaRequest sets a quota.
type QuotaRequest struct {
	Path     string `msgpack:"path"`
	MaxBytes int64  `msgpack:"max_bytes"`
	MaxFiles int64  `msgpack:"max_files"`
}

// AccessRequest asks whether an operation would be refused. Access is the number of the
// pfs.Access.
type AccessRequest struct {
	Path   string `msgpack:"path"`
	Access uint8  `msgpack:"access"`
}

// SweepRequest removes uploads older than Seconds.
type SweepRequest struct {
	Path    string `msgpack:"path"`
	Seconds int64  `msgpack:"seconds"`
}

// SweepReply has the number and the bytes of removed uploads.
type SweepReply struct {
	Count int64 `msgpack:"count"`
	Bytes int64 `msgpack:"bytes"`
}

// CopyRequest copies a file inside the service; see pfs.CopyOptions.
type CopyRequest struct {
	Source    string `msgpack:"source"`
	Target    string `msgpack:"target"`
	ID        string `msgpack:"id"`
	NoReplace bool   `msgpack:"no_replace"`
	NewTime   bool   `msgpack:"new_time"`
}

// DigestRequest asks for a digest of the stored bytes.
type DigestRequest struct {
	Path      string `msgpack:"path"`
	Algorithm string `msgpack:"algorithm"`
}

// DigestReply is "algorithm:hex".
type DigestReply struct {
	Digest string `msgpack:"digest"`
}

// CreateRequest begins or resumes an upload; see pfs.CreateOptions.
type CreateRequest struct {
	Path   string `msgpack:"path"`
	ID     string `msgpack:"id"`
	Reopen bool   `msgpack:"reopen"`
	Size   int64  `msgpack:"size"`
}

// CreateReply describes the upload.
type CreateReply struct {
	ID      string `msgpack:"id"`
	Unit    int64  `msgpack:"unit"`
	Resumed bool   `msgpack:"resumed"`
}

// StagedRequest names an upload.
type StagedRequest struct {
	Path string `msgpack:"path"`
	ID   string `msgpack:"id"`
}

// LeavesRequest requests the digests of staged leaves; see pfs.LeafDigester. A reply has at most
// MaxLeaves.
type LeavesRequest struct {
	Path  string `msgpack:"path"`
	ID    string `msgpack:"id"`
	Size  int64  `msgpack:"size"`
	First int64  `msgpack:"first"`
	Count int    `msgpack:"count"`
}

// MaxLeaves bounds the leaves of one LeavesReply: 4 GiB of file.
const MaxLeaves = 1024

// LeavesReply holds digests of 16 bytes, one after the other.
type LeavesReply struct {
	Leaves []byte `msgpack:"leaves"`
}

// CommitRequest publishes; see pfs.CommitOptions.
type CommitRequest struct {
	Path      string `msgpack:"path"`
	ID        string `msgpack:"id"`
	Size      int64  `msgpack:"size"`
	Mode      uint32 `msgpack:"mode"`
	Time      *Time  `msgpack:"time"`
	Digest    string `msgpack:"digest"`
	NoReplace bool   `msgpack:"no_replace"`
}

// InfoReply describes one file.
type InfoReply struct {
	Info Info `msgpack:"info"`
}

// The bounds of a batch.
const (
	MaxBatchEntries = 1024
	MaxBatchBytes   = 2 * pfs.ChunkSize
)

// BatchRequest lists the entries of a batch; the contents follow the message.
type BatchRequest struct {
	Entries []BatchEntry `msgpack:"entries"`
}

// BatchEntry is a pfs.BatchEntry without its content.
type BatchEntry struct {
	Path      string `msgpack:"path"`
	Mode      uint32 `msgpack:"mode"`
	Time      *Time  `msgpack:"time"`
	Size      int64  `msgpack:"size"`
	Digest    string `msgpack:"digest"`
	NoReplace bool   `msgpack:"no_replace"`
}

// BatchReply lists the entries that failed. For a batch of copies it also has the digest of each
// entry, empty if the entry failed.
type BatchReply struct {
	Failed  []BatchFailure `msgpack:"failed"`
	Digests []string       `msgpack:"digests,omitempty"`
}

// BatchFailure is the error of the entry Index. Without a path it is about the path of the entry;
// for a copy, about the target or, with Source, the source.
type BatchFailure struct {
	Index  int   `msgpack:"index"`
	Error  Error `msgpack:"error"`
	Source bool  `msgpack:"source,omitempty"`
}

// CopyBatchRequest lists the small files to copy inside the service.
type CopyBatchRequest struct {
	Files []CopyFile `msgpack:"files"`
}

// CopyFile is a pfs.BatchCopy.
type CopyFile struct {
	Source    string `msgpack:"source"`
	Target    string `msgpack:"target"`
	Size      int64  `msgpack:"size"`
	NoReplace bool   `msgpack:"no_replace"`
	NewTime   bool   `msgpack:"new_time"`
}

// ReadRequest lists the small files, or the ranges of files, to read.
type ReadRequest struct {
	Files  []ReadFile  `msgpack:"files"`
	Ranges []ReadRange `msgpack:"ranges,omitempty"`
}

// ReadFile is a file and its expected length.
type ReadFile struct {
	Path string `msgpack:"path"`
	Size int64  `msgpack:"size"`
}

// ReadRange is a pfs.Range. It is shorter than Size only at the end of the file.
type ReadRange struct {
	Path    string `msgpack:"path"`
	Version string `msgpack:"version,omitempty"`
	Off     int64  `msgpack:"off"`
	Size    int64  `msgpack:"size"`
}

// ReadReply describes the files or ranges in order; the contents of those without an error follow
// the message.
type ReadReply struct {
	Files  []ReadResult  `msgpack:"files"`
	Ranges []RangeResult `msgpack:"ranges,omitempty"`
}

// ReadResult is one file of a ReadReply.
type ReadResult struct {
	Info  Info   `msgpack:"info"`
	Error *Error `msgpack:"error"`
}

// RangeResult is one range of a ReadReply.
type RangeResult struct {
	Size  Size   `msgpack:"size"` // of the bytes that follow
	Error *Error `msgpack:"error"`
}

// Frame is one step of a long call.
type Frame struct {
	Progress int64  `msgpack:"progress"` // in the call's unit, mostly bytes
	Done     bool   `msgpack:"done"`
	Error    *Error `msgpack:"error"`
	Reply    []byte `msgpack:"reply"` // the encoded reply message
}

// Time is seconds and nanoseconds since 1970 UTC.
type Time struct {
	Sec  int64 `msgpack:"s"`
	Nsec int64 `msgpack:"n"`
}

// NewTime encodes t.
func NewTime(t time.Time) Time { return Time{t.Unix(), int64(t.Nanosecond())} }

// NewOptionalTime encodes t, nil if it is zero.
func NewOptionalTime(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	w := NewTime(t)
	return &w
}

// Time decodes t.
func (t Time) Time() time.Time { return time.Unix(t.Sec, t.Nsec) }

// Optional decodes t, zero if it is nil.
func (t *Time) Optional() time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time()
}

// Size is the length of a file, which is not negative: receivers allocate by it.
type Size int64

// DecodeMsgpack refuses a negative size.
func (s *Size) DecodeMsgpack(d *msgpack.Decoder) error {
	n, err := d.DecodeInt64()
	if err == nil && n < 0 {
		err = fmt.Errorf("a size of %d bytes", n)
	}
	*s = Size(n)
	return err
}

// ModeBits returns m as POSIX st_mode.
func ModeBits(m fs.FileMode) uint32 { return unixmode.Bits(m) }

// FileMode returns the mode of POSIX st_mode bits. Without type bits it is a
// regular file's.
func FileMode(bits uint32) fs.FileMode {
	mode := unixmode.FileMode(bits)
	if !unixmode.HasType(bits) {
		mode &^= fs.ModeIrregular
	}
	return mode
}
