import { ModelError } from './instance.ts';

/**
 * What a credential can do. `sees-nothing`: valid, but of another project, so lists are empty and ids are not found.
 */
export type CredentialMode = 'ok' | 'unauthorized' | 'forbidden' | 'sees-nothing';

const modes: ReadonlySet<string> = new Set<CredentialMode>(['ok', 'unauthorized', 'forbidden', 'sees-nothing']);

export interface Credentials {
  /** Makes a credential known, or changes what it is good for. */
  set(credential: string, project: string, mode?: CredentialMode): void;
  setMode(credential: string, mode: CredentialMode): void;
  /** What a bearer of this credential may do in a project. Another project's credential sees nothing. */
  modeFor(credential: string | undefined, project: string): CredentialMode;
}

export function credentials(): Credentials {
  const known = new Map<string, { readonly project: string; readonly mode: CredentialMode }>();

  function set(credential: string, project: string, mode: CredentialMode = 'ok'): void {
    if (!modes.has(mode)) {
      throw new ModelError('invalid', `mode: ${JSON.stringify(mode)}, expected ${[...modes].join(', ')}`);
    }
    known.set(credential, { project, mode });
  }

  return {
    set,
    setMode(credential, mode) {
      const entry = known.get(credential);
      if (!entry) throw new ModelError('not-found', 'no such credential');
      set(credential, entry.project, mode);
    },
    modeFor(credential, project) {
      const entry = credential === undefined ? undefined : known.get(credential);
      if (!entry) return 'unauthorized';
      if (entry.mode !== 'ok') return entry.mode;
      return entry.project === project ? 'ok' : 'sees-nothing';
    },
  };
}
