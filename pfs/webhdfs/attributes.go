package webhdfs

import (
	"context"
	"io/fs"
	"regexp"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/internal/unixmode"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/linkfs"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// stat describes the path, through a link.
func (c *call) stat(ctx context.Context) (pfs.Info, error) { return linkfs.Stat(ctx, c.fs(), c.path) }

// getFileStatus carries out GETFILESTATUS.
func getFileStatus(ctx context.Context, c *call) (answer, error) {
	info, err := c.stat(ctx)
	return answer{body: named("FileStatus", newFileStatus(info, ""))}, err
}

// usage counts the tree of the path, which it counts itself, too.
func (c *call) usage(ctx context.Context) (pfs.Usage, error) {
	info, err := c.stat(ctx)
	if err != nil {
		return pfs.Usage{}, err
	}
	if !info.IsDir() {
		return pfs.Usage{Bytes: info.Size, Files: 1, Stored: info.Size * int64(max(1, info.Replication))}, nil
	}
	u, err := pfs.UsageOf(ctx, c.fs(), c.path)
	u.Dirs++
	u.Stored, u.MaxStored = max(u.Bytes, u.Stored), max(u.MaxBytes, u.MaxStored)
	if u.MaxFiles > 0 { // Hadoop counts the directory itself, too
		u.MaxFiles++
	}
	return u, err
}

// limit returns a quota as Hadoop states it.
func limit(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

// getContentSummary carries out GETCONTENTSUMMARY.
func getContentSummary(ctx context.Context, c *call) (answer, error) {
	u, err := c.usage(ctx)
	return answer{body: named("ContentSummary", map[string]any{
		"directoryCount": u.Dirs, "fileCount": u.Files, "length": u.Bytes, "ecPolicy": "",
		"quota": limit(u.MaxFiles), "spaceConsumed": u.Stored, "spaceQuota": limit(u.MaxStored), "typeQuota": map[string]any{},
		"snapshotDirectoryCount": 0, "snapshotFileCount": 0, "snapshotLength": 0, "snapshotSpaceConsumed": 0,
	})}, err
}

// getQuotaUsage carries out GETQUOTAUSAGE.
func getQuotaUsage(ctx context.Context, c *call) (answer, error) {
	u, err := c.usage(ctx)
	return answer{body: named("QuotaUsage", map[string]any{
		"fileAndDirectoryCount": u.Files + u.Dirs, "quota": limit(u.MaxFiles),
		"spaceConsumed": u.Stored, "spaceQuota": limit(u.MaxStored), "typeQuota": map[string]any{},
	})}, err
}

// getHomeDirectory carries out GETHOMEDIRECTORY.
func getHomeDirectory(_ context.Context, c *call) (answer, error) {
	return answer{body: named("Path", c.cfg.Home(c.user.Name))}, nil
}

// getTrashRoot carries out GETTRASHROOT.
func getTrashRoot(_ context.Context, c *call) (answer, error) {
	return answer{body: named("Path", c.cfg.Home(c.user.Name).Join(".Trash"))}, nil
}

// getServerDefaults carries out GETSERVERDEFAULTS. Replication is that of the store of the home, because programs ask for /.
func getServerDefaults(ctx context.Context, c *call) (answer, error) {
	space, err := pfs.SpaceOf(ctx, c.fs(), c.cfg.Home(c.user.Name))
	if isKind(err, pfs.Unsupported) {
		err = nil
	}
	return answer{body: named("FsServerDefaults", map[string]any{
		"blockSize": blockSize, "bytesPerChecksum": bytesPerSum, "checksumType": 2, "defaultStoragePolicyId": 7,
		"encryptDataTransfer": false, "fileBufferSize": 4096, "keyProviderUri": "", "replication": max(1, space.Copies),
		"trashInterval": 0, "writePacketSize": 64 << 10,
	})}, err
}

var fsAction = regexp.MustCompile(`^[-r][-w][-x]$`)

// checkAccess carries out CHECKACCESS. Whoever sees a directory may pass through it, so x needs nothing more.
func checkAccess(ctx context.Context, c *call) (answer, error) {
	action := c.params.text("fsaction")
	if !fsAction.MatchString(action) {
		return answer{}, badParam("fsaction", `Invalid value: "`+action+`" does not belong to the domain [rwx-]{3}`)
	}
	info, err := c.stat(ctx)
	if err != nil {
		return answer{}, err
	}
	var needs []pfs.Access
	switch {
	case action[0] == 'r' && info.IsDir():
		needs = append(needs, pfs.ListDir)
	case action[0] == 'r':
		needs = append(needs, pfs.Read)
	}
	if action[1] == 'w' {
		needs = append(needs, pfs.Write)
	}
	for _, a := range needs {
		if err := pfs.CheckAccess(ctx, c.fs(), a, c.path); err != nil {
			return answer{}, err
		}
	}
	return answer{}, nil
}

// setPermission carries out SETPERMISSION: see Modes in the documentation of the package.
func setPermission(ctx context.Context, c *call) (answer, error) {
	asked, err := c.params.mode(0o755)
	if err != nil {
		return answer{}, err
	}
	info, err := c.stat(ctx)
	if err != nil {
		return answer{}, err
	}
	old := unixmode.Permissions(info.Mode)
	mode := asked&0o700 | asked&old&0o1077
	if mode == old&0o1777 {
		return answer{}, nil
	}
	err = pfs.SetAttr(ctx, c.fs(), c.path, pfs.AttrMode, pfs.Attrs{Mode: goMode(mode)})
	if isKind(err, pfs.Unsupported) {
		err = nil // the store has no modes, so nothing could be wider
	}
	return answer{}, err
}

// goMode returns permission bits of Unix as those of Go.
func goMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	if mode&0o1000 != 0 {
		m |= fs.ModeSticky
	}
	return m
}

// setOwner carries out SETOWNER.
func setOwner(ctx context.Context, c *call) (answer, error) {
	attrs := pfs.Attrs{Owner: c.params.text("owner"), Group: c.params.text("group")}
	if attrs.Owner == "" && attrs.Group == "" {
		return answer{}, illegal("Both owner and group are empty.")
	}
	info, err := c.stat(ctx)
	if err != nil {
		return answer{}, err
	}
	now := newFileStatus(info, "")
	var mask pfs.AttrMask
	if attrs.Owner != "" && attrs.Owner != now.Owner {
		mask |= pfs.AttrOwner
	}
	if attrs.Group != "" && attrs.Group != now.Group {
		mask |= pfs.AttrGroup
	}
	if mask == 0 {
		return answer{}, nil
	}
	return answer{}, pfs.SetAttr(ctx, c.fs(), c.path, mask, attrs)
}

// setTimes carries out SETTIMES.
func setTimes(ctx context.Context, c *call) (answer, error) {
	var attrs pfs.Attrs
	var mask pfs.AttrMask
	for _, p := range []struct {
		name string
		to   *time.Time
		bit  pfs.AttrMask
	}{{"modificationtime", &attrs.ModTime, pfs.AttrModTime}, {"accesstime", &attrs.AccessTime, pfs.AttrAccessTime}} {
		ms, err := c.params.long(p.name, -1, -1)
		if err != nil {
			return answer{}, err
		}
		if ms >= 0 {
			*p.to = time.UnixMilli(ms)
			mask |= p.bit
		}
	}
	if mask == 0 {
		_, err := c.stat(ctx)
		return answer{}, err
	}
	err := pfs.SetAttr(ctx, c.fs(), c.path, mask, attrs)
	if isKind(err, pfs.Unsupported) && mask&pfs.AttrModTime != 0 && mask&pfs.AttrAccessTime != 0 {
		err = pfs.SetAttr(ctx, c.fs(), c.path, pfs.AttrModTime, attrs) // the store keeps no times of access
	}
	return answer{}, err
}

// setReplication carries out SETREPLICATION. It answers false where there is no such number, as a NameNode does for a
// directory.
func setReplication(ctx context.Context, c *call) (answer, error) {
	n, err := c.params.replication()
	if err != nil {
		return answer{}, err
	}
	info, err := c.stat(ctx)
	if err != nil {
		return unless(err, pfs.NotExist)
	}
	if info.IsDir() {
		return yesNo(false), nil
	}
	if err := c.replicate(ctx, max(1, n)); err != nil {
		return unless(err, pfs.Unsupported)
	}
	return yesNo(true), nil
}

// replicate sets the number of copies of the file.
func (c *call) replicate(ctx context.Context, n int) error {
	return pfs.SetAttr(ctx, c.fs(), c.path, pfs.AttrReplication, pfs.Attrs{Replication: n})
}
