package files

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// Stat returns the command stat.
func Stat(a *app.App) *cli.Command {
	s := &stat{a: a}
	return a.NewCommand(app.Spec{
		Name: "stat", Args: "PATH...", Least: 1, Most: -1,
		Summary:  "describe files",
		Text:     `Shows all that is known about files, directories and links. Links are not followed.`,
		Examples: []string{"paddlectl stat --json /pfs/dc1/home/alice/model.bin"},
		Exits:    app.PathExits(),
		Flags:    []cli.Flag{app.JSONFlag(&s.json), &cliargs.Foreign{Letter: "c", Instead: "--json prints all that there is"}},
		Run: func(ctx context.Context, operands []string) error {
			return a.EachTarget(ctx, operands, func(t app.Target) error { return s.target(ctx, t) })
		},
	})
}

// stat is one run of the command.
type stat struct {
	a     *app.App
	json  bool
	begun bool // something was printed
}

func (s *stat) target(ctx context.Context, t app.Target) error {
	info, err := t.FS.Stat(ctx, t.Path) // also after a pattern: a listing has less
	if err != nil {
		return err
	}
	if s.json {
		return s.a.JSON(app.NewEntryJSON(t.Path, info))
	}
	if s.begun {
		s.a.Printf("\n")
	}
	s.begun = true
	for _, line := range describe(t.Path, info) {
		if line.value != "" {
			s.a.Printf("%-9s %s\n", line.name+":", s.a.Name(line.value))
		}
	}
	return nil
}

type statLine struct{ name, value string }

func describe(name pfs.Path, info pfs.Info) []statLine {
	size := ""
	if !info.IsDir() {
		size = app.SizeText(info.Size)
	}
	return []statLine{
		{"Path", string(name)},
		{"Type", app.TypeName(info)},
		{"Target", info.Target},
		{"Size", size},
		{"Mode", app.Octal(info.Mode) + " " + app.ModeText(info)},
		{"Modified", info.ModTime.Local().Format(time.RFC3339Nano)},
		{"Owner", info.Owner},
		{"Group", info.Group},
		{"Digest", info.Digest},
		{"Version", info.Version},
	}
}
