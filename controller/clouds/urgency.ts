/**
 * Which call goes first where not all may go at once: `change` = removals and changes of load balancers and routes, and what has to be read right before one; `need` =
 * reads that a decision about one object waits for; `refresh` = reads of everything, which lose nothing by waiting.
 */
export type Urgency = 'change' | 'need' | 'refresh';
