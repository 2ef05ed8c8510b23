// Where the server is. The order: the path in the settings, a trusted workspace's `.venv`, PATH, our own environment.
import * as path from 'node:path';

export interface Places {
  /** `midfill.server.path`; empty where it is not set. */
  explicit: string;
  /** The workspace's folders on disk. */
  folders: string[];
  /** Whether the person trusts the workspace: only then may something in it be run. */
  trusted: boolean;
  /** The value of PATH. */
  searchPath: string;
  /** The environment that `install` makes. */
  ownEnvironment: string;
  windows: boolean;
}

export interface Found {
  command: string;
  why: 'settings' | 'workspace' | 'PATH' | 'own environment';
}

/** The server's command, or null where there is none. `isFile` says whether a path is a file that can be run. */
export function findServer(places: Places, isFile: (path: string) => boolean): Found | null {
  const { join, delimiter, isAbsolute } = places.windows ? path.win32 : path.posix;
  if (places.explicit) {
    return { command: places.explicit, why: 'settings' };
  }
  if (places.trusted) {
    for (const folder of places.folders) {
      const command = programIn(join(folder, '.venv'), places.windows);
      if (isFile(command)) {
        return { command, why: 'workspace' };
      }
    }
  }
  for (const folder of places.searchPath.split(delimiter)) {
    // a relative entry of PATH would lead into whatever folder is open
    if (isAbsolute(folder)) {
      const command = join(folder, places.windows ? 'midfill.exe' : 'midfill');
      const inWorkspace = places.folders.some((root) => command.startsWith(join(root, '/')));
      if ((places.trusted || !inWorkspace) && isFile(command)) {
        return { command, why: 'PATH' };
      }
    }
  }
  const own = programIn(places.ownEnvironment, places.windows);
  return isFile(own) ? { command: own, why: 'own environment' } : null;
}

/** The program of an environment that `python -m venv` made. */
export function programIn(environment: string, windows: boolean, name = 'midfill'): string {
  return windows ? path.win32.join(environment, 'Scripts', `${name}.exe`) : path.posix.join(environment, 'bin', name);
}
