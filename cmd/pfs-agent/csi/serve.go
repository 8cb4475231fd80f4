package csi

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// Serve serves the plugin to the kubelet whose directory is kubelet, /var/lib/kubelet by default, until ctx ends.
func (p *Plugin) Serve(ctx context.Context, kubelet string, log *slog.Logger) error {
	endpoint := filepath.Join(kubelet, "plugins", Name, "csi.sock")
	plugin := grpc.NewServer(grpc.UnaryInterceptor(logged(log)))
	csi.RegisterIdentityServer(plugin, p)
	csi.RegisterNodeServer(plugin, p)
	registrar := grpc.NewServer()
	registration.RegisterRegistrationServer(registrar, registered{endpoint: endpoint, log: log})
	failed := make(chan error, 2)
	// The kubelet calls the plugin as soon as it sees the socket of the registration, which comes last.
	for _, s := range []struct {
		server *grpc.Server
		name   string
	}{{plugin, endpoint}, {registrar, filepath.Join(kubelet, "plugins_registry", Name+"-reg.sock")}} {
		l, err := listen(s.name)
		if err != nil {
			return err
		}
		go func() { failed <- s.server.Serve(l) }()
		defer s.server.GracefulStop() // it removes the socket
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// listen replaces the socket name, which a killed plugin leaves behind.
func listen(name string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return nil, err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", name)
}

// logged logs failed calls. It does not log requests, since they hold tokens.
func logged(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		resp, err := handler(ctx, req)
		if err != nil && status.Code(err) != codes.Unimplemented {
			log.Error("a request of the kubelet failed", "method", info.FullMethod, "error", err)
		}
		return resp, err
	}
}

// registered answers the kubelet, which looks for plugins.
type registered struct {
	endpoint string
	log      *slog.Logger
	registration.UnimplementedRegistrationServer
}

func (r registered) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{Type: registration.CSIPlugin, Name: Name, Endpoint: r.endpoint, SupportedVersions: []string{"1.0.0"}}, nil
}

func (r registered) NotifyRegistrationStatus(_ context.Context, s *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if s.GetPluginRegistered() {
		r.log.Info("the kubelet has registered the plugin", "name", Name)
	} else {
		r.log.Error("the kubelet refuses the plugin", "name", Name, "error", s.GetError())
	}
	return &registration.RegistrationStatusResponse{}, nil
}
