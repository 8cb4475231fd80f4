package files

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/copying"
	"github.com/urfave/cli/v2"
)

func filePutCommand(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "put", Args: "SRC DEST", Least: 2, Most: 2,
		Summary:  "upload a file or directory",
		Text:     "Uploads a file or directory.\n\n" + fileRules,
		Examples: []string{"paddlectl file put dataset /pfs/dc1/home/alice"},
		Exits:    app.PathExits(cliio.Integrity),
		Run:      func(ctx context.Context, operands []string) error { return runFilePut(ctx, a, operands) },
	})
}

func runFilePut(ctx context.Context, a *app.App, operands []string) error {
	src, err := a.ParseOperand(operands[0])
	if err != nil {
		return err
	}
	if err := checkBelowHere(src); err != nil {
		return err
	}
	dest, err := a.ParseOperand(operands[1])
	if err != nil {
		return err
	}
	if dest.Side != app.Remote || !app.IsInHome(dest.Path) {
		return cliargs.Usagef("%q: DEST must begin with /pfs/{datacenter}/home/{username}", dest.Text)
	}
	o := copying.SimpleCopy()
	o.Parents = true
	return copying.CopyAll(ctx, a, o, []app.Operand{src}, dest)
}

// checkBelowHere refuses sources that are not below the current directory.
func checkBelowHere(src app.Operand) error {
	if src.Side != app.Local {
		return cliargs.Usagef("%q: SRC must be a file or directory of this machine", src.Text)
	}
	for e := range strings.SplitSeq(filepath.ToSlash(src.Local), "/") {
		if e == ".." {
			return cliargs.Usagef("%q: \"../\" is not allowed in SRC, which must be below the current directory", src.Text)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(src.Local)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(here, abs); err != nil || !filepath.IsLocal(rel) {
		return cliargs.Usagef("%q: SRC must be below the current directory %s", src.Text, here)
	}
	return nil
}
