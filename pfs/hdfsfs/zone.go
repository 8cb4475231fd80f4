package hdfsfs

import (
	"context"
	"path"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/kms"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
)

// Each file in an encryption zone has a key of its own, which the KMS decrypts with the key of the zone. DataNodes have
// encrypted bytes, and checksums of these. HDFS moves no file into a zone or out of it, so a zone below the root has a directory
// for uploads, as the root has.

// zones are the directories for the uploads of one user in encryption zones, by the paths of the zones in HDFS.
type zones struct {
	mu     sync.Mutex
	stages map[string]*stageRoot
}

// key returns the key of a file, nil if it is not in an encryption zone.
func (f *FS) key(ctx context.Context, info *hdfsproto.EncryptionInfo) (*kms.Key, error) {
	if info == nil {
		return nil, nil
	}
	d, err := f.serverDefaults(ctx)
	if err != nil {
		return nil, err
	}
	if d.GetKeyProvider() == "" {
		return nil, pfs.Errorf("hdfsfs.key", "", pfs.Unsupported, "it is in an encryption zone, and the NameNode names no KMS (hadoop.security.key.provider.path)")
	}
	if k := f.opts.Kerberos; k != nil {
		if k.TokenFile != "" {
			return nil, pfs.Errorf("hdfsfs.key", "", pfs.Unsupported, "it is in an encryption zone, and the KMS takes no delegation token of HDFS: use a principal and a keytab")
		}
		if err := f.affirm(ctx, "hdfsfs.key", pfs.Unavailable); err != nil {
			return nil, err // also for a key that is kept
		}
	}
	return f.keys.Key(ctx, d.GetKeyProvider(), f.user, info)
}

// stageFor returns where files of the directory dir, which st describes, are staged.
func (f *FS) stageFor(ctx context.Context, dir pfs.Path, st status) (*stageRoot, error) {
	return f.stageAt(ctx, f.at(dir), st)
}

// stageAt is stageFor for a path in HDFS.
func (f *FS) stageAt(ctx context.Context, at string, st status) (*stageRoot, error) {
	if !st.zoned {
		return &f.stage, nil
	}
	var answer hdfsproto.GetEZForPathResponse
	if err := f.service.ask(ctx, "getEZForPath", &hdfsproto.GetEZForPathRequest{Path: &at}, &answer, rpc.Idempotent); err != nil {
		return nil, err
	}
	zone := answer.GetZone().GetPath()
	if answer.Zone == nil || inside(f.opts.Root, zone) {
		return &f.stage, nil
	}
	f.zones.mu.Lock()
	defer f.zones.mu.Unlock()
	if f.zones.stages == nil {
		f.zones.stages = map[string]*stageRoot{}
	}
	r := f.zones.stages[zone]
	if r == nil {
		r = &stageRoot{fs: f, in: zone}
		f.zones.stages[zone] = r
	}
	return r, nil
}

// inside reports whether the path at in HDFS is dir or below it.
func inside(at, dir string) bool {
	return at == dir || strings.HasPrefix(at, strings.TrimSuffix(dir, "/")+"/")
}

// knownStages returns the directories for uploads that f has used.
func (f *FS) knownStages() []*stageRoot {
	f.zones.mu.Lock()
	defer f.zones.mu.Unlock()
	all := []*stageRoot{&f.stage}
	for _, r := range f.zones.stages {
		all = append(all, r)
	}
	return all
}

// allStages returns the paths of the directories for uploads of all users. Only a superuser may ask for the zones: for others
// they are those that f has used.
func (f *FS) allStages(ctx context.Context) (tops []string, err error) {
	for _, r := range f.knownStages() {
		tops = append(tops, r.top())
	}
	known := len(tops)
	for after, more := int64(0), true; more; {
		var answer hdfsproto.ListEncryptionZonesResponse
		err := f.service.ask(ctx, "listEncryptionZones", &hdfsproto.ListEncryptionZonesRequest{After: &after}, &answer, rpc.Idempotent)
		if is(err, pfs.Permission) {
			return tops, nil
		}
		if err != nil {
			return nil, err
		}
		for _, z := range answer.Zones {
			if after = z.GetId(); inside(z.GetPath(), f.opts.Root) && z.GetPath() != f.opts.Root {
				tops = append(tops, path.Join(z.GetPath(), stageDir))
			}
		}
		more = answer.GetMore() && len(answer.Zones) > 0
	}
	return append(tops[:1:1], tops[known:]...), nil
}
