export interface FakeServer {
  readonly id: string;
  name: string;
  status: string;
  readonly zone: string;
  readonly flavor: string;
  readonly vpc: string;
  readonly address: string;
  /** Ids of its security groups. */
  groups: readonly string[];
  /** EIP; empty for none. */
  elastic: string;
  /** Addresses of further interfaces. */
  readonly further?: readonly string[];
}
