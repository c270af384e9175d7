export interface FakeRoute {
  readonly type: string;
  readonly destination: string;
  readonly nexthop: string;
  readonly description: string;
}

export interface FakeTable {
  readonly id: string;
  readonly name: string;
  readonly isDefault: boolean;
  readonly vpc: string;
  routes: FakeRoute[];
}
