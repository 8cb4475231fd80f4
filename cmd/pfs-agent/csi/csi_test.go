package csi

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// mounts is a Mounter that remembers mounts, by directory, with the flags and the file of the token.
type mounts struct {
	at   map[string][]string
	fail error
	wait chan struct{} // Mount waits until it is closed, if it is not nil
}

func (m *mounts) Mount(_ context.Context, dir, tokenFile string, flags []string) error {
	if m.wait != nil {
		m.wait <- struct{}{}
		<-m.wait
	}
	if m.fail == nil {
		m.at[dir] = append([]string{tokenFile}, flags...)
	}
	return m.fail
}
func (m *mounts) Mounted(dir string) (bool, error)            { return m.at[dir] != nil, nil }
func (m *mounts) Unmount(_ context.Context, dir string) error { delete(m.at, dir); return m.fail }

// newPlugin returns a plugin, its mounts, and a request to publish a volume.
func newPlugin(t *testing.T) (*Plugin, *mounts, *csi.NodePublishVolumeRequest) {
	dir, m := t.TempDir(), &mounts{at: map[string][]string{}}
	return &Plugin{Node: "node1", Tokens: filepath.Join(dir, "tokens"), User: os.Getuid(), Mounter: m}, m, &csi.NodePublishVolumeRequest{
		VolumeId: "csi-1", TargetPath: filepath.Join(dir, "pod", "mount"), Secrets: map[string]string{"token": "first"},
		VolumeContext: map[string]string{"service": "https://pfsd:8730", "owner": "1000:1000", "root": "/pfs/dc", "csi.storage.k8s.io/pod.name": "trainer"},
	}
}

// TestPublish publishes a volume twice, with a new token the second time, and ends it twice.
func TestPublish(t *testing.T) {
	p, m, req := newPlugin(t)
	req.Readonly = true
	for _, token := range []string{"first", "second"} {
		req.Secrets["token"] = token
		if _, err := p.NodePublishVolume(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		got := m.at[req.TargetPath]
		if want := []string{filepath.Join(p.Tokens, "csi-1"), "--owner=1000:1000", "--root=/pfs/dc", "--service=https://pfsd:8730", "--read-only"}; !slices.Equal(got, want) {
			t.Errorf("mounted with %q, want %q", got, want)
		}
		text, err := os.ReadFile(got[0])
		info, statErr := os.Stat(got[0])
		if err != nil || statErr != nil || string(text) != token || info.Mode() != 0o600 {
			t.Errorf("the file of the token has %q, %v, mode %v", text, errors.Join(err, statErr), info.Mode())
		}
	}
	for range 2 {
		if _, err := p.NodeUnpublishVolume(t.Context(), &csi.NodeUnpublishVolumeRequest{VolumeId: "csi-1", TargetPath: req.TargetPath}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{req.TargetPath, filepath.Join(p.Tokens, "csi-1")} {
			if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is left: %v", name, err)
			}
		}
	}
	if len(m.at) > 0 {
		t.Errorf("mounts are left: %v", m.at)
	}
}

// TestRefused publishes volumes that cannot be.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*mounts, *csi.NodePublishVolumeRequest)
		code   codes.Code
		says   string
	}{
		"no service":        {func(_ *mounts, r *csi.NodePublishVolumeRequest) { delete(r.VolumeContext, "service") }, codes.InvalidArgument, "service"},
		"no owner":          {func(_ *mounts, r *csi.NodePublishVolumeRequest) { delete(r.VolumeContext, "owner") }, codes.InvalidArgument, "owner"},
		"no token":          {func(_ *mounts, r *csi.NodePublishVolumeRequest) { r.Secrets = nil }, codes.InvalidArgument, "nodePublishSecretRef"},
		"unknown attribute": {func(_ *mounts, r *csi.NodePublishVolumeRequest) { r.VolumeContext["store"] = "file:///" }, codes.InvalidArgument, "cacheSize, fingerprint"},
		"read only":         {func(_ *mounts, r *csi.NodePublishVolumeRequest) { r.VolumeContext["readOnly"] = "yes" }, codes.InvalidArgument, `"yes"`},
		"ID":                {func(_ *mounts, r *csi.NodePublishVolumeRequest) { r.VolumeId = "../x" }, codes.InvalidArgument, "volume ID"},
		"denied":            {func(m *mounts, _ *csi.NodePublishVolumeRequest) { m.fail = status.Error(codes.PermissionDenied, "no") }, codes.PermissionDenied, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			p, m, req := newPlugin(t)
			c.change(m, req)
			_, err := p.NodePublishVolume(t.Context(), req)
			if status.Code(err) != c.code || !strings.Contains(status.Convert(err).Message(), c.says) {
				t.Errorf("the error is %v, want %v with %s", err, c.code, c.says)
			}
		})
	}
}

// TestAtOnce publishes and ends a volume while it is being published.
func TestAtOnce(t *testing.T) {
	p, m, req := newPlugin(t)
	m.wait = make(chan struct{})
	done := make(chan error)
	go func() {
		_, err := p.NodePublishVolume(t.Context(), req)
		done <- err
	}()
	<-m.wait
	if _, err := p.NodePublishVolume(t.Context(), req); status.Code(err) != codes.Aborted {
		t.Errorf("a second publication: %v", err)
	}
	if _, err := p.NodeUnpublishVolume(t.Context(), &csi.NodeUnpublishVolumeRequest{VolumeId: "csi-1", TargetPath: req.TargetPath}); status.Code(err) != codes.Aborted {
		t.Errorf("an end: %v", err)
	}
	close(m.wait)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestServe talks to the plugin as the kubelet does, where a killed plugin has left its sockets.
func TestServe(t *testing.T) {
	kubelet, err := os.MkdirTemp("", "k") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(kubelet)
	old := filepath.Join(kubelet, "plugins_registry", Name+"-reg.sock")
	if err := errors.Join(os.Mkdir(filepath.Dir(old), 0o700), os.WriteFile(old, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	p, _, _ := newPlugin(t)
	p.Version = "v1"
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx, kubelet, slog.New(slog.DiscardHandler)) }()
	dial := func(name string) *grpc.ClientConn {
		conn, err := grpc.NewClient("unix:"+name, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if info, err := os.Stat(old); err == nil && info.Mode().Type() == fs.ModeSocket {
			break
		}
	}
	// The socket has a name before it accepts connections.
	info, err := registration.NewRegistrationClient(dial(old)).GetInfo(ctx, &registration.InfoRequest{}, grpc.WaitForReady(true))
	if err != nil || info.Type != registration.CSIPlugin || info.Name != Name {
		t.Fatalf("%v, %v", info, err)
	}
	conn := dial(info.Endpoint)
	who, err := csi.NewIdentityClient(conn).GetPluginInfo(ctx, &csi.GetPluginInfoRequest{})
	if err != nil || who.Name != Name || who.VendorVersion != "v1" {
		t.Errorf("%v, %v", who, err)
	}
	node, err := csi.NewNodeClient(conn).NodeGetInfo(ctx, &csi.NodeGetInfoRequest{})
	if err != nil || node.NodeId != "node1" {
		t.Errorf("%v, %v", node, err)
	}
	conn.Close()
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}
