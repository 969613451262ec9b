// kubectl's own commands in a process that stays: a test that asks an API server forty times starts no program forty
// times, which costs more than what is asked.
//
// Reads one call a line from standard input, {"id", "arguments", "input"}, and writes one answer a line, in the order
// in which they are ready: {"id", "output", "errors", "code"}. Calls run beside one another. It ends with its input.
//
// Not for `--warnings-as-errors`: client-go has one handler of warnings for a whole process.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

type call struct {
	ID        uint64   `json:"id"`
	Arguments []string `json:"arguments"`
	Input     string   `json:"input"`
}

type answer struct {
	ID     uint64 `json:"id"`
	Output string `json:"output"`
	Errors string `json:"errors"`
	Code   int    `json:"code"`
}

// fatal is what kubectl ends a process with.
type fatal struct {
	message string
	code    int
}

// locked is written by several goroutines of one command.
type locked struct {
	sync.Mutex
	bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.Write(p)
}

func main() {
	util.BehaviorOnFatal(func(message string, code int) { panic(fatal{message, code}) })
	var writing sync.Mutex
	out := json.NewEncoder(os.Stdout)
	calls := bufio.NewReader(os.Stdin)
	for {
		line, err := calls.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		var asked call
		if err == nil {
			err = json.Unmarshal(line, &asked)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "kubectl-resident:", err)
			os.Exit(1)
		}
		go func() {
			answered := run(asked)
			writing.Lock()
			defer writing.Unlock()
			if out.Encode(answered) != nil {
				os.Exit(1)
			}
		}()
	}
}

func run(asked call) (answered answer) {
	var output, errors locked
	defer func() {
		ended := recover()
		answered = answer{ID: asked.ID, Output: output.String(), Errors: errors.String()}
		if ended == nil {
			return
		}
		end, isFatal := ended.(fatal)
		if !isFatal {
			end = fatal{fmt.Sprint(ended), 1}
		}
		answered.Code = end.code
		if end.message != "" && !strings.HasSuffix(end.message, "\n") {
			end.message += "\n"
		}
		answered.Errors += end.message
	}()
	// Commands read `-f -` from the process's own standard input, where the calls come from.
	arguments := slices.Clone(asked.Arguments)
	if at := slices.Index(arguments, "-"); at >= 0 {
		file, err := os.CreateTemp("", "kubectl-resident-")
		if err != nil {
			panic(err)
		}
		defer os.Remove(file.Name())
		if _, err := file.WriteString(asked.Input); err != nil {
			panic(err)
		}
		file.Close()
		arguments[at] = file.Name()
	}
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &output, ErrOut: &errors}
	command := cmd.NewKubectlCommand(cmd.KubectlOptions{
		Arguments:   append([]string{"kubectl"}, arguments...),
		ConfigFlags: genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50),
		IOStreams:   streams,
	})
	command.SetArgs(arguments)
	command.SetOut(&output)
	command.SetErr(&errors)
	if err := command.Execute(); err != nil {
		util.CheckErr(err)
	}
	return
}
