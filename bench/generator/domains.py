"""What sessions are about: products, their nouns (identifier, Chinese word) and fields.

The names are made up. Identifiers are English in every language, as they are at work.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Domain:
    """One product; `nouns` pairs an identifier with the word that Chinese prose uses."""

    product: str
    nouns: tuple[tuple[str, str], ...]
    fields: tuple[str, ...]


DOMAINS: tuple[Domain, ...] = (
    Domain(
        "tallyport",
        (
            ("invoice", "发票"),
            ("payout", "打款"),
            ("refund", "退款"),
            ("ledger", "账本"),
            ("settlement", "结算"),
            ("dispute", "争议单"),
            ("statement", "对账单"),
            ("fee", "手续费"),
            ("balance", "余额"),
            ("voucher", "代金券"),
        ),
        ("amount_minor", "currency", "booked_at", "account_id", "state", "reference", "tax_rate"),
    ),
    Domain(
        "shelfline",
        (
            ("shipment", "发货单"),
            ("pallet", "托盘"),
            ("slot", "库位"),
            ("stock", "库存"),
            ("carrier", "承运商"),
            ("parcel", "包裹"),
            ("manifest", "装箱单"),
            ("dock", "月台"),
            ("restock", "补货单"),
            ("picking", "拣货单"),
        ),
        ("weight_grams", "warehouse", "packed_at", "sku", "state", "barcode", "priority"),
    ),
    Domain(
        "shiftboard",
        (
            ("shift", "班次"),
            ("roster", "排班表"),
            ("absence", "请假单"),
            ("swap", "换班申请"),
            ("worker", "员工档案"),
            ("holiday", "节假日表"),
            ("quota", "配额"),
            ("timesheet", "工时单"),
            ("handover", "交接单"),
            ("overtime", "加班单"),
        ),
        ("minutes_planned", "site", "starts_at", "worker_id", "state", "skill", "cost_center"),
    ),
    Domain(
        "gaugehub",
        (
            ("sensor", "传感器"),
            ("reading", "读数"),
            ("batch", "批次"),
            ("stream", "数据流"),
            ("partition", "分区"),
            ("checkpoint", "检查点"),
            ("device", "设备"),
            ("rollup", "汇总"),
            ("alarm", "告警"),
            ("calibration", "校准记录"),
        ),
        ("value_milli", "unit", "measured_at", "device_id", "state", "firmware", "quality"),
    ),
    Domain(
        "findwell",
        (
            ("document", "文档"),
            ("query", "查询"),
            ("shard", "分片"),
            ("segment", "索引段"),
            ("ranker", "排序器"),
            ("snippet", "摘要片段"),
            ("synonym", "同义词表"),
            ("crawler", "抓取任务"),
            ("facet", "分面"),
            ("suggestion", "搜索建议"),
        ),
        ("score_milli", "locale", "indexed_at", "source_id", "state", "title", "boost"),
    ),
    Domain(
        "ticketbay",
        (
            ("booking", "订座"),
            ("seat", "座位"),
            ("venue", "场馆"),
            ("event", "演出"),
            ("waitlist", "候补名单"),
            ("pricing", "票价"),
            ("hold", "锁座"),
            ("entry", "入场记录"),
            ("transfer", "转赠"),
            ("coupon", "优惠券"),
        ),
        ("price_minor", "section", "sold_at", "buyer_id", "state", "gate", "channel"),
    ),
)

AREAS = ("core", "api", "storage", "jobs", "adapters", "domain", "workers")
ROLES = ("store", "service", "loader", "policy", "handler", "mapper", "queue", "cache", "exporter")
VERBS = (
    "load", "merge", "validate", "export", "resolve", "reconcile", "split", "apply", "schedule",
    "normalise", "rebuild", "claim", "expire", "publish", "archive", "replay", "dedupe", "assign",
)  # fmt: skip
ENVIRONMENTS = ("staging", "production", "preview", "canary")
REGIONS = ("eu-west", "eu-north", "us-east", "us-west", "ap-south", "ap-east")
ERRORS = (
    "SequenceGapError", "StaleLeaseError", "SchemaMismatchError", "DuplicateKeyError",
    "PoolExhaustedError", "ChecksumError", "LockTimeoutError", "RateCeilingError",
    "PartialWriteError", "MissingFieldError", "ClockSkewError", "TenantMismatchError",
)  # fmt: skip
METRICS = (
    "request_latency_ms", "queue_depth", "error_ratio", "cpu_seconds", "heap_mebibytes",
    "open_connections", "lag_seconds", "cache_hit_ratio", "retries_per_minute", "disk_used_ratio",
)  # fmt: skip
