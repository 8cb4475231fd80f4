// Package csi is a node plugin of the Container Storage Interface, with which Kubernetes mounts trees of a service into
// pods that have no privileges: inline ephemeral volumes, one mount for each pod and volume.
//
// # Files
//
//	csi        the plugin: the attributes of volumes, and mounting
//	serve      the sockets, and the registration with the kubelet
//	agent      mounts by pfs-agent, whose processes outlive the container of the plugin
//	locks      one operation for a volume at a time
package csi

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Name is the name of the driver in manifests.
const Name = "csi.pfs.paddlecloud.io"

// Mounter mounts and unmounts directories of this machine. An error of it should be a gRPC status.
type Mounter interface {
	// Mount mounts at dir with flags of "pfs-agent mount", and returns when the mount is ready. tokenFile is the name
	// of a file with the token of the user. The mount does not end with this process.
	Mount(ctx context.Context, dir, tokenFile string, flags []string) error

	// Mounted reports whether a mount at dir works.
	Mounted(dir string) (bool, error)

	// Unmount ends the mount at dir. It is no error if there is none.
	Unmount(ctx context.Context, dir string) error
}

// Plugin is the plugin of one node.
type Plugin struct {
	Node    string // the name of the node
	Version string
	Tokens  string // a directory for the tokens of the mounts, which is gone after a restart of the machine
	User    int    // who reads the tokens: the user and group of the servers of mounts
	Mounter Mounter

	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer
	busy locks
}

// GetPluginInfo returns the name and version of the plugin.
func (p *Plugin) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: Name, VendorVersion: p.Version}, nil
}

// GetPluginCapabilities returns none: there is no controller.
func (p *Plugin) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

// Probe reports that the plugin is ready.
func (p *Plugin) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

// NodeGetInfo returns the name of the node.
func (p *Plugin) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: p.Node}, nil
}

// NodeGetCapabilities returns none: volumes are published in one step.
func (p *Plugin) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

// NodePublishVolume mounts the volume of a pod. The kubelet calls it again periodically, with the current Secret: the
// mount then uses the new token.
func (p *Plugin) NodePublishVolume(ctx context.Context, req *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	dir, id := req.GetTargetPath(), req.GetVolumeId()
	if dir == "" || !isName(id) {
		return nil, status.Error(codes.InvalidArgument, "the request has no target path or no volume ID")
	}
	flags, err := flagsOf(req.GetVolumeContext(), req.GetReadonly())
	if err != nil {
		return nil, err
	}
	token := req.GetSecrets()["token"]
	if token == "" {
		return nil, status.Error(codes.InvalidArgument, "the volume needs nodePublishSecretRef, the name of a secret with the key token")
	}
	unlock, err := p.busy.lock(id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	file := p.tokenFile(id)
	if err := writeToken(file, token, p.User); err != nil {
		return nil, status.Errorf(codes.Internal, "the token of the volume: %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return nil, status.Errorf(codes.Internal, "the target path: %v", err)
	}
	switch mounted, err := p.Mounter.Mounted(dir); {
	case err != nil:
		return nil, status.Errorf(codes.Internal, "the mounts of this node: %v", err)
	case mounted:
		return &csi.NodePublishVolumeResponse{}, nil
	}
	if err := os.Mkdir(dir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, status.Errorf(codes.Internal, "the target path: %v", err)
	}
	if err := p.Mounter.Mount(ctx, dir, file, flags); err != nil {
		return nil, err
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

// NodeUnpublishVolume ends the mount of a volume.
func (p *Plugin) NodeUnpublishVolume(ctx context.Context, req *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	dir, id := req.GetTargetPath(), req.GetVolumeId()
	if dir == "" || !isName(id) {
		return nil, status.Error(codes.InvalidArgument, "the request has no target path or no volume ID")
	}
	unlock, err := p.busy.lock(id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := p.Mounter.Unmount(ctx, dir); err != nil {
		return nil, err
	}
	for _, name := range []string{dir, p.tokenFile(id)} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, status.Errorf(codes.Internal, "%v", err)
		}
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}

// isName reports whether a volume ID can be the name of a file.
func isName(id string) bool { return filepath.IsLocal(id) && !strings.Contains(id, "/") }

// tokenFile returns the name of the file with the token of a volume.
func (p *Plugin) tokenFile(id string) string { return filepath.Join(p.Tokens, id) }

// writeToken replaces the file name by one that only user can read.
func writeToken(name, token string, user int) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o711); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-")
	if err != nil {
		return err
	}
	_, err = f.WriteString(token)
	if err = errors.Join(err, f.Chown(user, user), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// attributes maps each volume attribute to a flag of "pfs-agent mount". Users set the attributes of their own pods, so
// no attribute names a directory of the node or a store.
var attributes = map[string]string{
	"service":     "--service",
	"fingerprint": "--fingerprint",
	"root":        "--root",
	"openMode":    "--open-mode",
	"cacheSize":   "--cache-size",
	"retryTime":   "--retry-time",
	"owner":       "--owner",
}

// flagsOf returns the flags for the attributes of a volume.
func flagsOf(given map[string]string, readOnly bool) ([]string, error) {
	var flags []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := given[name]
		switch flag, known := attributes[name]; {
		case strings.HasPrefix(name, "csi.storage.k8s.io/"): // the pod, from the kubelet
		case known:
			flags = append(flags, flag+"="+value)
		case name == "readOnly" && (value == "true" || value == "false"):
			readOnly = readOnly || value == "true"
		case name == "readOnly":
			return nil, status.Errorf(codes.InvalidArgument, "the volume attribute readOnly is %q; it can be \"true\" or \"false\"", value)
		default:
			names := append(slices.Collect(maps.Keys(attributes)), "readOnly")
			slices.Sort(names)
			return nil, status.Errorf(codes.InvalidArgument, "unknown volume attribute %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	switch {
	case given["service"] == "":
		return nil, status.Error(codes.InvalidArgument, "the volume needs the attribute service, the URL of pfsd")
	case given["owner"] == "":
		return nil, status.Error(codes.InvalidArgument, "the volume needs the attribute owner, the UID:GID that the programs of the pod run as")
	}
	if readOnly {
		flags = append(flags, "--read-only")
	}
	return flags, nil
}
