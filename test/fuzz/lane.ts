import type { RefusalCode } from '../../controller/reports/refusal.ts';
import { type Cluster, otherAccount, otherNamespace } from './cluster.ts';
import type { Dice } from './dice.ts';
import { canary } from './evil-values.ts';

/** A node whose agent has a good token. */
export interface Member {
  readonly name: string;
  uid: string;
  token: string;
  /** What the store holds of it; `unsure` after a report whose answer never came. */
  last: { readonly agentId: string; readonly sequence: number } | undefined | 'unsure';
}

/** A value of the Authorization header, and what must come of it. */
export interface Credential {
  /** Undefined = no header at all. */
  readonly header: Buffer | undefined;
  readonly proves: Member | RefusalCode;
}

/** Nodes and tokens of one lane alone, so that each case knows what the cases before it left behind. */
export interface Lane {
  readonly members: readonly Member[];
  /** Another, for cases whose sender is gone before the answer: the time of keeping is unknown. */
  readonly ghost: Member;
  credential(dice: Dice): Credential;
  good(member: Member): Credential;
  /** Creates one of the nodes again: its agent gets a new pod and token, the old token proves nothing any more. */
  recreate(dice: Dice): void;
}

export function createLane(cluster: Cluster, lane: number): Lane {
  const name = (part: string) => `fuzz-${lane}-${part}`;

  function member(part: string): Member {
    const uid = cluster.putNode(name(part));
    return { name: name(part), uid, token: cluster.issue({ bound: cluster.putPod(name(part)) }), last: undefined };
  }

  const members = [member('a'), member('b'), member('c')];
  const first = members[0] as Member;
  const bound = cluster.putPod(first.name);
  const doomed = cluster.putPod(first.name);
  const deletedPod = cluster.issue({ bound: doomed });
  cluster.deletePod(doomed);
  const gone = name('gone');
  cluster.putNode(gone);
  const unknownNode = cluster.issue({ bound: cluster.putPod(gone) });
  cluster.deleteNode(gone);
  const byAgent = { account: 'mooring-agent', namespace: otherNamespace };
  const fixed: readonly (readonly [string, RefusalCode])[] = [
    [deletedPod, 'TokenInvalid'],
    [unknownNode, 'NodeUnknown'],
    [cluster.issue({ bound: cluster.putPod(name('unborn')) }), 'NodeUidMissing'],
    [cluster.issue({ bound, audience: 'another' }), 'TokenInvalid'],
    [cluster.issue({ bound, audience: 'https://kubernetes.default.svc.cluster.local' }), 'TokenInvalid'],
    [
      cluster.issue({ account: otherAccount, bound: cluster.putPod(first.name, otherAccount) }),
      'ForeignServiceAccount',
    ],
    [
      cluster.issue({ ...byAgent, bound: cluster.putPod(first.name, byAgent.account, byAgent.namespace) }),
      'ForeignServiceAccount',
    ],
    [cluster.issue({}), 'BindingIncomplete'],
    [cluster.issue({ bound: { kind: 'Node', name: first.name, uid: first.uid } }), 'BindingIncomplete'],
    [cluster.issue({ bound: cluster.putSecret() }), 'BindingIncomplete'],
    [cluster.issueLongAgo({ bound }), 'TokenInvalid'],
    [cluster.server.adminToken, 'TokenInvalid'],
  ];
  const replaced: string[] = [];

  function good(of: Member): Credential {
    return { header: Buffer.from(`Bearer ${of.token}`), proves: of };
  }

  function refused(token: string | Buffer, code: RefusalCode): Credential {
    return { header: Buffer.concat([Buffer.from('Bearer '), Buffer.from(token)]), proves: code };
  }

  function known(dice: Dice): Credential {
    const old = dice.chance(0.2) ? replaced.at(-1) : undefined;
    if (old !== undefined) return refused(old, 'NodeReplaced');
    return refused(...dice.pick(fixed));
  }

  /** Another's claims under a good signature, the good claims under no signature, and the like. */
  function forged(dice: Dice): Credential {
    const token = dice.pick(members).token;
    const [head = '', body = '', signature = ''] = token.split('.');
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString());
    const other = { ...claims, 'kubernetes.io': { ...claims['kubernetes.io'], node: { name: 'fuzz-0-a', uid: 'x' } } };
    const made = dice.pick([
      `${head}.${encode(other)}.${signature}`,
      `${encode({ alg: 'none' })}.${body}.`,
      `${encode({ alg: 'none' })}.${body}.AA`,
      `${encode({ alg: 'HS256' })}.${body}.${signature}`,
      `${head}.${encode({ ...claims, exp: 9_999_999_999 })}.${signature}`,
      `${head}.${body}.${signature.slice(0, -10)}`,
      `${head}.${body}`,
      `${token}.${signature}`,
      `${token}${token}`,
      `${token}=`,
    ]);
    return refused(made, 'TokenInvalid');
  }

  function garbage(dice: Dice): Credential {
    const part = () => canary + dice.text(dice.between(1, 30));
    return refused(
      dice.pick<() => Buffer>([
        () => Buffer.from(`${part()}.${part()}.${part()}`),
        () => Buffer.from(`${dice.text(9)}.${dice.text(9)}.${dice.text(9)}`),
        () => Buffer.from(part()),
        () => Buffer.from(`${'a'.repeat(8000)}.b.c`),
        () => Buffer.from(`a.b.${'c'.repeat(17_000)}`),
        () => Buffer.from([0x61, 0x2e, 0xff, 0x2e, 0x80]),
        () => Buffer.from('a.b.ünïcode'),
        () => Buffer.from('../../api/v1/nodes'),
        () => Buffer.from('$(id).`id`.%00'),
      ])(),
      'TokenInvalid',
    );
  }

  function none(dice: Dice): Credential {
    const { token } = dice.pick(members);
    const header = dice.pick([
      undefined,
      '',
      'Bearer',
      'Bearer ',
      `Basic ${Buffer.from(`${canary}:x`).toString('base64')}`,
      `Bearer ${token} ${token}`,
      `Bearer, ${token}`,
      `Token ${token}`,
      token,
      `Bearer\t${token}`,
      `Bearer realm = "${canary}"`,
    ]);
    return { header: header === undefined ? undefined : Buffer.from(header), proves: 'TokenMissing' };
  }

  return {
    members,
    ghost: member('ghost'),
    good,
    credential: (dice) =>
      dice.weighed<() => Credential>([
        [60, () => good(dice.pick(members))],
        [12, () => known(dice)],
        [10, () => forged(dice)],
        [12, () => garbage(dice)],
        [6, () => none(dice)],
      ])(),
    recreate(dice) {
      const chosen = dice.pick(members.slice(1));
      cluster.deleteNode(chosen.name);
      replaced.push(chosen.token);
      chosen.uid = cluster.putNode(chosen.name);
      chosen.token = cluster.issue({ bound: cluster.putPod(chosen.name) });
      chosen.last = undefined;
    },
  };
}
