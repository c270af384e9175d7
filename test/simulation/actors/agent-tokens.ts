import { names } from '../../../common/well-known.ts';
import type { Dice } from '../engine/dice.ts';
import type { Cluster } from './cluster.ts';
import type { Truth } from './truth.ts';

/**
 * The agents' pods and the tokens that kubelets project into them, bound to pod and Node; and the tokens that others
 * show instead.
 */
export interface AgentTokens {
  /**
   * The kubelet of this machine has started. With a new Node either the agent's pod is new, too, or the old pod stays
   * and its token is replaced only after a while.
   */
  mount(name: string, nodeIsNew: boolean): void;
  /** What the agent shows now; replaced by the kubelet in time. Undefined before its pod was there. */
  of(name: string): string | undefined;
  /** The content of the agent's token, unsigned. */
  forged(name: string): string | undefined;
  /** A good one of another pod on the same Node, asked for with our audience. */
  ofAnotherAccount(name: string): string | undefined;
  /** A good one of the agent itself, for another audience. */
  forAnotherAudience(name: string): string | undefined;
}

interface Mounted {
  readonly pod: string;
  token: string;
  endsAtMs: number;
}

interface TokenRequest {
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}

const home = `/api/v1/namespaces/${names.namespace}`;
const strangers = 'stranger';
/** A kubelet asks for the next one when a fifth of the life is left. */
const leftShare = 0.2;

export function createAgentTokens(truth: Truth, cluster: Cluster, dice: Dice): AgentTokens {
  const { clock } = truth;
  const mounted = new Map<string, Mounted>();
  /** Clusters differ in this; ten minutes are the least an API server grants. */
  const lifeSeconds = dice.pick([600, 3600]);
  let pods = 0;
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: strangers } };
  cluster.ask('POST', `${home}/serviceaccounts`, account);

  function createPod(nodeName: string, account: string): string {
    pods += 1;
    const name = `${account}-${pods}`;
    const spec = { nodeName, serviceAccountName: account, containers: [{ name: 'agent', image: 'agent' }] };
    cluster.ask('POST', `${home}/pods`, { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
    return name;
  }

  function deletePod(name: string): void {
    cluster.ask('DELETE', `${home}/pods/${name}`, { gracePeriodSeconds: 0 });
  }

  function issue(account: string, pod: string, audience: string): TokenRequest['status'] {
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: pod };
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences: [audience], expirationSeconds: lifeSeconds, boundObjectRef },
    };
    return (cluster.ask('POST', `${home}/serviceaccounts/${account}/token`, body) as unknown as TokenRequest).status;
  }

  function project(name: string, pod: string): void {
    const { token, expirationTimestamp } = issue(names.agent, pod, names.audience);
    mounted.set(name, { pod, token, endsAtMs: Date.parse(expirationTimestamp) });
  }

  function refresh(name: string): void {
    const now = mounted.get(name);
    if (now !== undefined) project(name, now.pod);
  }

  return {
    mount(name, nodeIsNew) {
      const before = mounted.get(name);
      if (before !== undefined && nodeIsNew && dice.chance(0.3)) {
        clock.setTimer(dice.between(5000, 60_000), () => {
          if (mounted.get(name)?.pod === before.pod) refresh(name);
        });
        return;
      }
      if (before !== undefined && !nodeIsNew) return refresh(name);
      if (before !== undefined) deletePod(before.pod);
      project(name, createPod(name, names.agent));
    },
    of(name) {
      const now = mounted.get(name);
      if (now !== undefined && clock.now() > now.endsAtMs - leftShare * lifeSeconds * 1000) refresh(name);
      return mounted.get(name)?.token;
    },
    forged(name) {
      const token = mounted.get(name)?.token;
      return token?.replace(/[^.]+$/, `forged${dice.whole(1, 1e9)}`);
    },
    ofAnotherAccount(name) {
      if (truth.node(name) === undefined) return undefined;
      const pod = createPod(name, strangers);
      return issue(strangers, pod, names.audience).token;
    },
    forAnotherAudience(name) {
      const now = mounted.get(name);
      return now && issue(names.agent, now.pod, 'another-pod').token;
    },
  };
}
