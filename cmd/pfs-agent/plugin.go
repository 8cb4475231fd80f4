package main

import (
	"context"
	"log/slog"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/pfs-agent/csi"
	"github.com/paddlecloud/pfs/fuse/broker"
	"github.com/urfave/cli/v2"
)

// plugin returns the command csi.
func plugin(a *app.App) *cli.Command {
	var node, kubelet, programs, tokens string
	return a.NewCommand(app.Spec{
		Name:    "csi",
		Summary: "serve the kubelet of this node as a CSI plugin",
		Text: `Mounts trees of a service into pods that ask for an inline volume of the driver
` + csi.Name + `. It runs as root in a privileged container that shares the
processes of the node (deploy/csi.yaml). Mounts go on when the plugin ends or is replaced.
docs/kubernetes.md describes volumes.`,
		Examples: []string{"pfs-agent csi --node node1"},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "node", Usage: "the `NAME` of this node in Kubernetes", Destination: &node},
			&cli.StringFlag{Name: "kubelet-dir", Usage: "the directory `DIR` of the kubelet", Value: "/var/lib/kubelet", Destination: &kubelet},
			&cli.StringFlag{Name: "state-dir", Usage: "keep a copy of the program for mounts in `DIR` of the node", Value: "/var/lib/pfs", Destination: &programs},
			&cli.StringFlag{Name: "token-dir", Usage: "keep the tokens of mounts in `DIR` of the node, in memory", Value: "/run/pfs", Destination: &tokens},
		},
		Run: func(ctx context.Context, _ []string) error {
			if node == "" {
				return cliargs.Usagef("--node is needed")
			}
			log := slog.New(slog.NewTextHandler(a.Stderr, nil))
			if err := csi.Leave(); err != nil {
				log.Error("mounts will end with this container", "error", err)
			}
			agent, err := csi.Install(programs)
			if err != nil {
				return err
			}
			go func() {
				if err := agent.Upgrade(ctx, kubelet); err != nil {
					log.Error("mounts keep the servers that they have", "error", err)
				}
			}()
			p := &csi.Plugin{Node: node, Version: a.Main.Version, Tokens: tokens, User: broker.Nobody, Mounter: agent}
			return p.Serve(ctx, kubelet, log)
		},
	})
}
