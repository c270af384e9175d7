import { type KubeApi, type KubeCall, KubeError } from '../../kube/api.ts';

export interface FakeObject {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
}

/** Objects by path with resourceVersions, merge patches and conflicts, as an API server keeps them. For tests. */
export interface FakeObjects {
  readonly api: KubeApi;
  /** By path; each value is replaced, never changed. */
  readonly objects: Map<string, FakeObject>;
  readonly calls: KubeCall[];
  /** Called before each call is carried out; may throw, or change the objects. */
  intercept(call: KubeCall): void | Promise<void>;
}

type Tree = { [key: string]: unknown };

/** RFC 7386. */
function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const base: Tree = typeof target === 'object' && target !== null ? { ...(target as Tree) } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete base[key];
    else base[key] = merged(base[key], value);
  }
  return base;
}

function failure(status: number, reason: string, path: string): KubeError {
  return new KubeError({ status, reason, message: `${reason} ${path}` });
}

export function fakeObjects(): FakeObjects {
  const objects = new Map<string, FakeObject>();
  let version = 0;

  function store(path: string, object: unknown): FakeObject {
    version += 1;
    const stored = merged(object, { metadata: { resourceVersion: String(version) } }) as FakeObject;
    objects.set(path, stored);
    return stored;
  }

  function patch(path: string, body: unknown): FakeObject {
    const before = objects.get(path);
    if (!before) throw failure(404, 'NotFound', path);
    const guard = (body as { metadata?: { resourceVersion?: string } }).metadata?.resourceVersion;
    if (guard !== undefined && guard !== before.metadata.resourceVersion) throw failure(409, 'Conflict', path);
    return store(path, merged(before, body));
  }

  function create(collection: string, body: unknown): FakeObject {
    const path = `${collection}/${(body as FakeObject).metadata.name}`;
    if (objects.has(path)) throw failure(409, 'AlreadyExists', path);
    return store(path, body);
  }

  /** As a PUT of a Lease: creates one that is not there, whatever version it names. */
  function update(path: string, body: unknown): FakeObject {
    const before = objects.get(path);
    const given = (body as FakeObject).metadata.resourceVersion;
    if (before && before.metadata.resourceVersion !== given) throw failure(409, 'Conflict', path);
    return store(path, body);
  }

  const fake: FakeObjects = {
    objects,
    calls: [],
    intercept: () => {},
    api: {
      async call<T>(call: KubeCall): Promise<T> {
        fake.calls.push(call);
        await fake.intercept(call);
        if (call.verb === 'patch') return patch(call.path, call.body) as T;
        if (call.verb === 'update') return update(call.path, call.body) as T;
        if (call.verb === 'create') return create(call.path, call.body) as T;
        const found = objects.get(call.path);
        if (call.verb !== 'get' || !found) throw failure(404, 'NotFound', call.path);
        return found as T;
      },
      watch: () => Promise.reject(new Error('nothing to watch')),
    },
  };
  return fake;
}
