package bridging

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// kernel is a stand-in that has the module or not.
type kernel struct {
	root     string
	unloaded int
	unload   error
}

func (k *kernel) folder() string { return filepath.Join(k.root, "net", "bridge") }

func (k *kernel) Load() error {
	if err := os.MkdirAll(k.folder(), 0o755); err != nil {
		return err
	}
	for _, name := range switches {
		if err := os.WriteFile(filepath.Join(k.folder(), name), []byte("1\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (k *kernel) Unload() error {
	k.unloaded++
	if k.unload != nil {
		return k.unload
	}
	return os.RemoveAll(k.folder())
}

func keeper(t *testing.T) (*kernel, Keeper) {
	t.Helper()
	k := &kernel{root: t.TempDir()}
	return k, Keeper{Root: k.root, File: filepath.Join(t.TempDir(), "bridging.json"), Boot: "today", Load: k.Load, Unload: k.Unload}
}

func TestAModuleThatIsMissingIsLoadedAndGivenBack(t *testing.T) {
	kernel, k := keeper(t)
	if err := k.Borrow(); err != nil {
		t.Fatal(err)
	}
	for _, name := range switches {
		if value, err := os.ReadFile(k.path(name)); err != nil || string(value) != "0" {
			t.Errorf("%s = %q, %v: the machine's own bridges must stay as they were", name, value, err)
		}
	}
	if err := errors.Join(k.Return(), k.Return()); err != nil {
		t.Fatal(err)
	}
	if kernel.unloaded != 1 || k.There() {
		t.Errorf("unloaded %d times, there %t: want once, and it is gone", kernel.unloaded, k.There())
	}
}

func TestAModuleOfTheMachineStays(t *testing.T) {
	kernel, k := keeper(t)
	if err := errors.Join(kernel.Load(), k.Borrow(), k.Return()); err != nil {
		t.Fatal(err)
	}
	if value, _ := os.ReadFile(k.path(switches[0])); kernel.unloaded != 0 || string(value) != "1\n" {
		t.Errorf("unloaded %d times, %s = %q: want the machine as it was", kernel.unloaded, switches[0], value)
	}
}

func TestAModuleOfAnEarlierBootIsForgotten(t *testing.T) {
	kernel, k := keeper(t)
	if err := k.Borrow(); err != nil {
		t.Fatal(err)
	}
	k.Boot = "tomorrow"
	if err := k.Return(); err != nil || kernel.unloaded != 0 {
		t.Errorf("%v, unloaded %d times: what is loaded now was loaded by somebody else", err, kernel.unloaded)
	}
}

func TestAModuleThatOthersUseStays(t *testing.T) {
	kernel, k := keeper(t)
	kernel.unload = unix.EWOULDBLOCK
	if err := errors.Join(k.Borrow(), k.Return()); err != nil {
		t.Errorf("a module in use is no failure: %v", err)
	}
}

func TestAKernelWithoutTheModuleIsNamed(t *testing.T) {
	_, k := keeper(t)
	k.Load = func() error { return errors.New("not found") }
	if err := k.Borrow(); err == nil || !strings.Contains(err.Error(), module) {
		t.Errorf("got %v, want the module's name", err)
	}
	if err := k.Return(); err != nil {
		t.Errorf("nothing was loaded: %v", err)
	}
}
