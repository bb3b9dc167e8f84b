package devpg

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// nobody is the user and group of last resort on every Linux.
const nobody = 65534

// account is the unprivileged user Postgres runs as, because it refuses to run
// as root. nil means the present user.
type account struct {
	name     string
	uid, gid uint32
}

// unprivilegedAccount returns nil unless the process is root.
func unprivilegedAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	found, err := user.Lookup("postgres")
	var unknown user.UnknownUserError
	if errors.As(err, &unknown) {
		return &account{name: "nobody", uid: nobody, gid: nobody}, nil
	}
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &account{name: found.Username, uid: uint32(uid), gid: uint32(gid)}, nil
}

// accountOf returns the owner of an existing data folder: Postgres accepts no
// other user, and the folder may have been made by one before root ran this.
func accountOf(dir string) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	owner := info.Sys().(*syscall.Stat_t)
	if owner.Uid == 0 {
		return nil, &DataDirError{DataDir: dir, Reason: "it belongs to root, as whom Postgres does not run"}
	}
	name := strconv.FormatUint(uint64(owner.Uid), 10)
	if found, err := user.LookupId(name); err == nil {
		name = found.Username
	}
	return &account{name: name, uid: owner.Uid, gid: owner.Gid}, nil
}

func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

// barrier returns dir or the nearest folder above it that the account may not
// enter, such as root's home, and "" when the way is free.
func (a *account) barrier(dir string) (string, error) {
	if a == nil {
		return "", nil
	}
	for {
		info, err := os.Stat(dir)
		if err != nil {
			return "", err
		}
		if !a.mayEnter(info) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", nil
		}
		dir = filepath.Dir(dir)
	}
}

func (a *account) mayEnter(info os.FileInfo) bool {
	owner, mode := info.Sys().(*syscall.Stat_t), info.Mode().Perm()
	switch {
	case owner.Uid == a.uid:
		return mode&0o100 != 0
	case owner.Gid == a.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}
